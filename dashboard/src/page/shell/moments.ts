/** Index of the newest moment not after `at`; the oldest if all are later. */
export function indexOfMoment(times: readonly string[], at: string): number {
  const wanted = Date.parse(at);
  return Math.max(
    0,
    times.findLastIndex((time) => Date.parse(time) <= wanted),
  );
}
