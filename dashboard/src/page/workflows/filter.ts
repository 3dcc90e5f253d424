const MOST = 200;

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Those whose namespace/name holds all of the words, at most so many; the chosen one is always among them.
 */
export function matching(
  all: readonly Named[],
  text: string,
  chosen: Named | null,
): { readonly shown: readonly Named[]; readonly total: number } {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const found = all.filter(({ namespace, name }) => {
    const full = `${namespace}/${name}`.toLowerCase();
    return words.every((word) => full.includes(word));
  });
  const shown: Named[] = found.slice(0, MOST);
  const isThere = shown.some(
    ({ namespace, name }) => namespace === chosen?.namespace && name === chosen.name,
  );
  if (chosen !== null && !isThere) shown.unshift({ namespace: chosen.namespace, name: chosen.name });
  return { shown, total: found.length };
}
