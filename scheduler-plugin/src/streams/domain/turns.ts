// Turns of namespaces that share places.

/**
 * The first item of each namespace, then the second of each, and so on; within a turn in the given order.
 * @param turns that a namespace has had before, by its name
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
