// Validates destinations of an untrusted price file.
import { isList, isRecord, looseFields, type Unchecked } from "@isochrone/primitives";
import { shown } from "./errors.ts";
import { SCOPES, type Destination } from "./row.ts";

const MAX_DESTINATIONS = 1_000;
const NAME = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;
const REGION = /^[a-z0-9][a-z0-9.-]{0,62}$/;

export function readDestinations(list: unknown, mistakes: string[]): Destination[] {
  if (!isList(list) || list.length > MAX_DESTINATIONS) {
    const got = isList(list) ? list.length : shown(list);
    mistakes.push(`destinations must be a list of at most ${MAX_DESTINATIONS}, got ${got}`);
    return [];
  }
  const names = new Set<unknown>();
  return list.flatMap((entry, index) => {
    const path = `destinations[${index}]`;
    if (!isRecord(entry)) {
      mistakes.push(`${path} must be an object with name and scope, got ${shown(entry)}`);
      return [];
    }
    const fields = looseFields<Destination>(entry);
    mistakes.push(...mistakesOf(fields, names).map((mistake) => `${path}${mistake}`));
    names.add(fields.name);
    const { name, region } = fields;
    const scope = SCOPES.find((each) => each === fields.scope);
    if (typeof name !== "string" || scope === undefined) return [];
    return [{ name, scope, region: typeof region === "string" ? region : null }];
  });
}

function mistakesOf(
  { name, scope, region, ...others }: Unchecked<Destination>,
  names: ReadonlySet<unknown>,
): string[] {
  const isFar = scope === "region-to-region";
  const rules: readonly (readonly [broken: boolean, rule: string, value: unknown])[] = [
    [!matches(NAME, name), ".name must be the name of a destination", name],
    [names.has(name), ".name must not stand twice", name],
    [!SCOPES.some((each) => each === scope), `.scope must be one of ${SCOPES.join(", ")}`, scope],
    [isFar && !matches(REGION, region), ".region must be the region that it is in", region],
    [!isFar && region !== undefined, ".region is for scope region-to-region only", region],
  ];
  return [
    ...Object.keys(others).map((field) => `.${field} is no field of a destination (name, scope, region)`),
    ...rules.flatMap(([broken, rule, value]) => (broken ? [`${rule}, got ${shown(value)}`] : [])),
  ];
}

function matches(pattern: RegExp, value: unknown): boolean {
  return typeof value === "string" && pattern.test(value);
}
