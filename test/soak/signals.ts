/** Aborted by Ctrl-C or a termination signal, so that what runs is stopped in good order. */
export function endOnSignals(): AbortSignal {
  const ending = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => ending.abort());
  return ending.signal;
}
