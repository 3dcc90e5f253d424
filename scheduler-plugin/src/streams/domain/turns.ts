/**
 * Round-robin over namespaces; stable within one.
 * @param turns earlier turns by namespace
 */
export function inTurns<T>(
  items: readonly T[],
  namespaceOf: (item: T) => string,
  turns: ReadonlyMap<string, number> = new Map(),
): T[] {
  const counts = new Map(turns);
  return items
    .map((item) => {
      const namespace = namespaceOf(item);
      const turn = counts.get(namespace) ?? 0;
      counts.set(namespace, turn + 1);
      return { item, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ item }) => item);
}
