interface Dependency {
  readonly from: string;
  readonly to: string;
}

/** Sorted groups of files that import each other, directly or indirectly. */
export function fileCycles(edges: readonly Dependency[]): string[][] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) {
    if (from === to) continue;
    if (!targets.has(from)) targets.set(from, []);
    targets.get(from)!.push(to);
  }
  return new StrongComponents(targets).find().map((group) => group.toSorted());
}

/** Tarjan's algorithm; recursion depth is the longest import chain. */
class StrongComponents {
  readonly #targets: ReadonlyMap<string, readonly string[]>;
  readonly #index = new Map<string, number>();
  readonly #low = new Map<string, number>();
  readonly #stack: string[] = [];
  readonly #onStack = new Set<string>();
  readonly #found: string[][] = [];

  constructor(targets: ReadonlyMap<string, readonly string[]>) {
    this.#targets = targets;
  }

  find(): string[][] {
    for (const file of this.#targets.keys()) if (!this.#index.has(file)) this.#visit(file);
    return this.#found;
  }

  #visit(file: string): void {
    const index = this.#index.size;
    this.#index.set(file, index);
    this.#low.set(file, index);
    this.#stack.push(file);
    this.#onStack.add(file);
    for (const target of this.#targets.get(file) ?? []) {
      if (!this.#index.has(target)) {
        this.#visit(target);
        this.#lower(file, this.#low.get(target)!);
      } else if (this.#onStack.has(target)) this.#lower(file, this.#index.get(target)!);
    }
    if (this.#low.get(file) === index) this.#close(file);
  }

  #lower(file: string, value: number): void {
    this.#low.set(file, Math.min(this.#low.get(file)!, value));
  }

  #close(file: string): void {
    const group = this.#stack.splice(this.#stack.lastIndexOf(file));
    for (const each of group) this.#onStack.delete(each);
    if (group.length > 1) this.#found.push(group);
  }
}

/** Pairs of folders that import each other, as `a <-> b`. */
export function mutualFolders(edges: readonly Dependency[]): string[] {
  const pairs = new Set<string>();
  for (const { from, to } of edges) {
    const [a, b] = [folderOf(from), folderOf(to)];
    if (a !== b) pairs.add(`${a} ${b}`);
  }
  return [...pairs]
    .map((pair) => pair.split(" "))
    .filter(([a, b]) => a! < b! && pairs.has(`${b} ${a}`))
    .map(([a, b]) => `${a} <-> ${b}`)
    .toSorted();
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
