/** Time as the tail and the streams know it, so that a test can turn the clock by hand. */
export interface Timers {
  /** Calls back once after so many milliseconds, unless the returned function is called before. */
  after(ms: number, callback: () => void): () => void
}

/** The real clock; waiting never keeps the process alive. */
export const systemTimers: Timers = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
