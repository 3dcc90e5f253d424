const MOST = 200;

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** Workflows whose namespace/name has all the words, up to a limit; always includes the chosen one. */
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
