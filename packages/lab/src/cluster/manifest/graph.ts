/** Topological order (callers first, ties as given), or one cycle with its first name repeated at the end. */
export function orderCallersFirst(
  names: readonly string[],
  calleesOf: (name: string) => readonly string[],
): { readonly order: string[] } | { readonly cycle: string[] } {
  const done = new Set<string>();
  const path: string[] = [];
  const finished: string[] = [];
  let cycle: string[] | null = null;

  const visit = (name: string): void => {
    if (cycle !== null || done.has(name)) return;
    const start = path.indexOf(name);
    if (start >= 0) {
      cycle = [...path.slice(start), name];
      return;
    }
    path.push(name);
    // Backwards, because the finishing order is reversed below; siblings keep their order.
    for (const callee of [...calleesOf(name)].reverse()) visit(callee);
    path.pop();
    done.add(name);
    finished.push(name);
  };

  for (const name of [...names].reverse()) visit(name);
  return cycle === null ? { order: finished.reverse() } : { cycle };
}
