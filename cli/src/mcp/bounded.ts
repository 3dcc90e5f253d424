export interface LeftOut {
  /** Path of the list, as in `workflows[].channels`. */
  readonly list: string;
  readonly shown: number;
  readonly of: number;
}

interface Bounded {
  readonly value: unknown;
  readonly leftOut: readonly LeftOut[];
}

interface Place {
  total: number;
  longest: number;
}

/** No API object has more fields: a larger one is a map. */
const MAX_FIELDS = 50;

/** Truncates a copy's longest lists until its JSON has at most `maxCharacters`; null if impossible. */
export function boundedTo(value: unknown, maxCharacters: number): Bounded | null {
  const limits = new Map<string, number>();
  for (;;) {
    const cut = limits.size === 0 ? value : cutTo(value, limits, "");
    if (JSON.stringify(cut).length <= maxCharacters) return { value: cut, leftOut: leftOutOf(value, limits) };
    const [path, { longest }] = longestOf(placesOf(value, limits));
    if (longest <= 1) return null;
    limits.set(path, Math.floor(longest / 2));
  }
}

function leftOutOf(value: unknown, limits: ReadonlyMap<string, number>): LeftOut[] {
  const before = placesOf(value, new Map());
  const after = placesOf(value, limits);
  return [...limits.keys()].map((list) => ({
    list,
    shown: after.get(list)?.total ?? 0,
    of: before.get(list)?.total ?? 0,
  }));
}

function longestOf(places: ReadonlyMap<string, Place>): readonly [string, Place] {
  let longest: readonly [string, Place] = ["", { total: 0, longest: 0 }];
  for (const entry of places) if (entry[1].longest > longest[1].longest) longest = entry;
  return longest;
}

function placesOf(value: unknown, limits: ReadonlyMap<string, number>): Map<string, Place> {
  const places = new Map<string, Place>();
  const walk = (part: unknown, path: string): void => {
    const children = childrenOf(part, path)?.slice(0, limits.get(path));
    if (children === undefined) return;
    if (isCuttable(part)) {
      const place = places.get(path) ?? { total: 0, longest: 0 };
      place.total += children.length;
      place.longest = Math.max(place.longest, children.length);
      places.set(path, place);
    }
    for (const child of children) walk(child.value, child.path);
  };
  walk(value, "");
  return places;
}

function cutTo(value: unknown, limits: ReadonlyMap<string, number>, path: string): unknown {
  const children = childrenOf(value, path);
  if (children === null) return value;
  const kept = children.slice(0, limits.get(path));
  const parts = kept.map((child) => cutTo(child.value, limits, child.path));
  return Array.isArray(value) ? parts : Object.fromEntries(kept.map(({ key }, at) => [key, parts[at]]));
}

interface Child {
  readonly key: string;
  readonly value: unknown;
  readonly path: string;
}

/** Null: neither list nor object. */
function childrenOf(value: unknown, path: string): readonly Child[] | null {
  if (typeof value !== "object" || value === null) return null;
  const below = path === "" ? "" : `${path}.`;
  return Object.entries(value).map(([key, child]: [string, unknown]) => ({
    key,
    value: child,
    path: isCuttable(value) ? `${path}[]` : `${below}${key}`,
  }));
}

function isCuttable(value: unknown): boolean {
  return Array.isArray(value) || (typeof value === "object" && Object.keys(value ?? {}).length > MAX_FIELDS);
}
