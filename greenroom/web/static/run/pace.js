// The pace of what follows the moment, but need not keep up with a slider that is moved.

/**
 * Return a function that calls another one: at once if that is long enough after the last time, else when it is. It is never called while
 * a promise that it returned is open, so that a slow server is not asked for each moment that a slider passes.
 * @param {() => (void | Promise<void>)} call
 * @param {number} rest_ms
 */
export function paced(call, rest_ms = 90) {
  let timer = 0;
  let last = -Infinity;
  let isBusy = false;
  let isWanted = false;
  const run = async () => {
    timer = 0;
    last = performance.now();
    isBusy = true;
    try {
      await call();
    } finally {
      isBusy = false;
      if (isWanted) soon();
    }
  };
  const soon = () => {
    isWanted = isBusy;
    if (timer || isBusy) return;
    const left = last + rest_ms - performance.now();
    if (left <= 0) run();
    else timer = setTimeout(run, left);
  };
  return soon;
}
