/** Position of the newest moment that isn't younger; the oldest where all are. */
export function indexOfMoment(times: readonly string[], at: string): number {
  const wanted = Date.parse(at);
  return Math.max(
    0,
    times.findLastIndex((time) => Date.parse(time) <= wanted),
  );
}
