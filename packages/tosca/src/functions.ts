// Evaluates TOSCA functions in values: `{ get_input: name }` in 1.3, `{ $get_input: [ name ] }` in 2.0.
import { isRecord } from "@isochrone/primitives";
import type { Cursor } from "./cursor.ts";
import type { Dialect } from "./definitions.ts";
import type { Mistakes } from "./mistakes.ts";

export interface Surroundings {
  readonly mistakes: Mistakes;
  dialectOf(cursor: Cursor): Dialect;
  input(name: string, at: Cursor): unknown;
  /**
   * Resolves get_property's arguments up to the names inside the value; leaves those in `rest`. Throws
   * ToscaError.
   */
  property(
    path: readonly string[],
    at: Cursor,
  ): { readonly value: unknown; readonly rest: readonly string[] };
}

const FUNCTIONS = new Set(["get_input", "get_property", "concat", "join", "token"]);
/** Functions only known at run time. */
const BEYOND = new Set([
  "get_attribute",
  "get_operation_output",
  "get_nodes_of_type",
  "get_artifact",
  "get_instance",
]);
const MAX_TEXT = 1024 * 1024;

/** Evaluates all functions in a value. Throws ToscaError. */
export function evaluate(at: Cursor, surroundings: Surroundings): unknown {
  if (Array.isArray(at.value)) return at.items().map((item) => evaluate(item, surroundings));
  if (!isRecord(at.value)) return at.value;
  const call = callIn(at, surroundings.dialectOf(at));
  if (call !== null) return calculated(call, surroundings);
  return Object.fromEntries(
    at
      .entries()
      .map(([key, inner]) => [unescaped(key, surroundings.dialectOf(at)), evaluate(inner, surroundings)]),
  );
}

interface Call {
  readonly name: string;
  readonly at: Cursor;
  readonly argument: Cursor;
}

function callIn(at: Cursor, dialect: Dialect): Call | null {
  const [entry, ...others] = at.entries();
  if (entry === undefined || others.length > 0) return null;
  const [key, argument] = entry;
  if (dialect === "2.0" && (!key.startsWith("$") || key.startsWith("$$"))) return null;
  const name = dialect === "2.0" ? key.slice(1) : key;
  if (FUNCTIONS.has(name)) return { name, at, argument };
  if (dialect === "2.0" || BEYOND.has(name))
    throw at.error(
      "unsupported",
      `must be known before anything runs, by one of ${[...FUNCTIONS].join(", ")}, got the function ${name}`,
    );
  return null;
}

/** In 2.0 `$$` escapes a `$`. */
function unescaped(key: string, dialect: Dialect): string {
  return dialect === "2.0" && key.startsWith("$$") ? key.slice(1) : key;
}

function calculated({ name, at, argument }: Call, surroundings: Surroundings): unknown {
  switch (name) {
    case "get_input": {
      const [input = "", ...path] = namesOf(argument);
      return within(surroundings.input(input, at), path, at);
    }
    case "get_property": {
      const { value, rest } = surroundings.property(namesOf(argument), at);
      return within(value, rest, at);
    }
    default:
      return text(
        name,
        argument.items().map((item) => evaluate(item, surroundings)),
        at,
      );
  }
}

function namesOf(argument: Cursor): string[] {
  if (!Array.isArray(argument.value)) return [argument.text()];
  const names = argument
    .items()
    .map((item) => (typeof item.value === "number" ? String(item.value) : item.text()));
  if (names.length === 0) throw argument.fail("must name something");
  return names;
}

function within(value: unknown, path: readonly string[], at: Cursor): unknown {
  let inner = value;
  for (const key of path) {
    if (typeof inner !== "object" || inner === null || !Object.hasOwn(inner, key))
      throw at.error("unresolved", `must lead to a value that is there, got ${JSON.stringify(key)}`);
    inner = Reflect.get(inner, key);
  }
  return inner;
}

function text(name: string, values: readonly unknown[], at: Cursor): unknown {
  if (name === "concat") {
    if (values.length > 0 && values.every((value) => Array.isArray(value))) return values.flat(1);
    return joined(values, "", at);
  }
  if (name === "join") {
    const [list, delimiter = ""] = values;
    if (!Array.isArray(list) || typeof delimiter !== "string")
      throw at.error("malformed", "join must have a list and a text between its items");
    return joined(list, delimiter, at);
  }
  const [whole, delimiters, index] = values;
  if (
    typeof whole !== "string" ||
    typeof delimiters !== "string" ||
    typeof index !== "number" ||
    !Number.isInteger(index)
  )
    throw at.error("malformed", "token must have a text, the characters that part it, and an index");
  const tokens = delimiters === "" ? [whole] : partsOf(whole, delimiters);
  const token = tokens[index];
  if (token === undefined)
    throw at.error("unresolved", `token ${index} must be there, got ${tokens.length} tokens`);
  return token;
}

function partsOf(whole: string, delimiters: string): string[] {
  const parts = [""];
  for (const character of whole) {
    if (delimiters.includes(character)) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts;
}

function joined(values: readonly unknown[], delimiter: string, at: Cursor): string {
  const texts = values.map((value) => {
    if (typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    throw at.error("malformed", "must join texts and numbers, got something else");
  });
  const length = texts.reduce((sum, each) => sum + each.length + delimiter.length, 0);
  if (length > MAX_TEXT)
    throw at.error("too_large", `must give a text of at most ${MAX_TEXT} characters, got ${length}`);
  return texts.join(delimiter);
}
