/** Aborts on Ctrl-C or a termination signal, for an orderly stop. */
export function endOnSignals(): AbortSignal {
  const ending = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => ending.abort());
  return ending.signal;
}
