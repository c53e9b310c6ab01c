// The pace of what follows the moment, but need not keep up with a slider that is moved.

/**
 * Return a function that calls another one: at once if that is long enough after the last time, else when it is.
 * @param {() => void} call
 * @param {number} rest_ms
 */
export function paced(call, rest_ms = 90) {
  let timer = 0;
  let last = -Infinity;
  const run = () => {
    timer = 0;
    last = performance.now();
    call();
  };
  return () => {
    if (timer) return;
    const left = last + rest_ms - performance.now();
    if (left <= 0) run();
    else timer = setTimeout(run, left);
  };
}
