import { CHANNEL_TYPES } from "@isochrone/placement";
import { isRecord } from "@isochrone/primitives";
import { Cursor } from "../cursor.ts";
import { BUILT_IN_MAPPING, TypeNames, type Mapping } from "./mapping.ts";
import { Mistakes } from "../mistakes.ts";
import { parseSource } from "../source.ts";

const MAX_NAMES = 1_000;
const KEYS = ["services", "others", "channels", "hosts", "builtIn"];
const CHANNEL_KEYS = ["relationships", "capabilities", "requirements"];
const ROUTES: readonly string[] = CHANNEL_TYPES.map(({ name }) => name);

export function readMapping(text: string, file: string): Mapping {
  const root = new Cursor(parseSource(text, file));
  const mistakes = new Mistakes();
  checkKeys(root, KEYS, mistakes);
  const builtIn = root.get("builtIn");
  if (builtIn !== null && typeof builtIn.value !== "boolean")
    mistakes.add(builtIn.fail("must be true or false", "invalid_value"));
  const channels = root.get("channels");
  if (channels !== null) checkKeys(channels, CHANNEL_KEYS, mistakes);
  const part = (name: string): Cursor | null => (channels?.isMap === true ? channels.get(name) : null);
  const rootPart = (name: string): Cursor | null => (root.isMap ? root.get(name) : null);
  const routes = new Map<string, string>();
  const named = {
    services: namesOf(rootPart("services"), mistakes),
    others: namesOf(rootPart("others"), mistakes),
    hosts: namesOf(rootPart("hosts"), mistakes),
    relationships: namesOf(part("relationships"), mistakes, routes),
    capabilities: namesOf(part("capabilities"), mistakes, routes),
    requirements: namesOf(part("requirements"), mistakes),
  };
  if (mistakes.isEmpty && Object.values(named).every((names) => names.length === 0))
    mistakes.add(root.error("invalid_value", "must name types under services, others, channels or hosts"));
  mistakes.check();
  const base = builtIn?.value === false ? EMPTY : BUILT_IN_MAPPING;
  const joined = (known: TypeNames, names: readonly string[]): TypeNames =>
    new TypeNames([...known.names.filter((name) => !names.includes(name)), ...names]);
  return {
    // A type named on one side is removed from the built-in other side.
    services: without(joined(base.services, named.services), named.others),
    others: without(joined(base.others, named.others), named.services),
    hosts: joined(base.hosts, named.hosts),
    relationships: joined(base.relationships, named.relationships),
    capabilities: joined(base.capabilities, named.capabilities),
    requirements: new Set([...base.requirements, ...named.requirements]),
    routes,
    named: new TypeNames(named.services),
  };
}

const NONE = new TypeNames([]);
const EMPTY: Mapping = {
  services: NONE,
  others: NONE,
  relationships: NONE,
  capabilities: NONE,
  requirements: new Set(),
  hosts: NONE,
  routes: new Map(),
  named: NONE,
};

function without(known: TypeNames, names: readonly string[]): TypeNames {
  return new TypeNames(known.names.filter((name) => !names.includes(name)));
}

function checkKeys(at: Cursor, keys: readonly string[], mistakes: Mistakes): void {
  const entries = mistakes.attempt(() => at.map().entries()) ?? [];
  for (const [key, inner] of entries)
    if (!keys.includes(key))
      mistakes.add(
        inner.error("invalid_value", `must be one of ${keys.join(", ")}, got ${JSON.stringify(key)}`),
      );
}

/** A list of names or, with `routes`, a map from names to route types. */
function namesOf(at: Cursor | null, mistakes: Mistakes, routes?: Map<string, string>): string[] {
  if (at === null) return [];
  const isMap = routes !== undefined && isRecord(at.value);
  const entries = mistakes.attempt(() =>
    isMap ? at.entries() : at.items().map((item) => ["", item] as const),
  );
  const names = (entries ?? []).flatMap(
    ([key, value]) =>
      mistakes.attempt(() => {
        if (!isMap) return nameOf(value);
        if (!ROUTES.includes(value.text()))
          throw value.fail(`must be one of ${ROUTES.join(", ")}`, "invalid_value");
        routes.set(key.replaceAll("::", ":"), value.text());
        return key;
      }) ?? [],
  );
  if (names.length > MAX_NAMES)
    mistakes.add(at.error("too_large", `must have at most ${MAX_NAMES} names, got ${names.length}`));
  return names.map((name) => name.replaceAll("::", ":"));
}

function nameOf(at: Cursor): string {
  const name = at.text();
  if (!/^[^*]+\*?$/.test(name)) throw at.fail("must be a name, with a * at its end alone", "invalid_value");
  return name;
}
