// The pace of what follows the moment, but need not keep up with a slider that is moved.

/**
 * Return a function that calls another one at once if it has rested, else when it is not called any more for a while.
 * @param {() => void} call
 * @param {number} rest_ms
 */
export function paced(call, rest_ms = 90) {
  let timer = 0;
  let last = -Infinity;
  return () => {
    clearTimeout(timer);
    const now = performance.now();
    const rested = now - last >= rest_ms;
    last = now;
    if (rested) call();
    else timer = setTimeout(call, rest_ms);
  };
}
