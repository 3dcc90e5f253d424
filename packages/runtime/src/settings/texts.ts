import { isList } from "@isochrone/primitives";
import { Secret } from "./secret.ts";
import { bad, good, makeSetting } from "./setting.ts";
import type { JsonSchema, OrNull, Parsed, Setting, SettingOptions } from "./setting.ts";

/** `pattern` must match the whole text; `patternRule` describes it ("must be a host name"). */
interface TextOptions<D> extends SettingOptions<D> {
  readonly pattern?: RegExp;
  readonly patternRule?: string;
  /** Characters; default 1 */
  readonly minLength?: number;
  /** Characters; default 4,096 */
  readonly maxLength?: number;
}

interface ListOptions<D> extends SettingOptions<D> {
  readonly pattern?: RegExp;
  readonly patternRule?: string;
  readonly minItems?: number;
  /** Default 1,000 */
  readonly maxItems?: number;
}

interface ListRules {
  readonly pattern: RegExp | undefined;
  readonly patternRule: string | undefined;
  readonly minItems: number;
  readonly maxItems: number;
}

const YES = new Set(["true", "yes", "on", "1"]);
const NO = new Set(["false", "no", "off", "0"]);

export function text<D extends string | null = string>(options: TextOptions<D>): Setting<string | OrNull<D>> {
  return makeSetting(options, {
    kind: "text",
    type: "text",
    schema: textSchema(options),
    parse: (raw) => parseText(raw, options),
  });
}

/** Text that no output shows: not logs, errors or documentation. */
export function secret<D extends null = never>(
  options: Omit<TextOptions<D>, "pattern" | "patternRule">,
): Setting<Secret | OrNull<D>> {
  return makeSetting(options, {
    kind: "secret",
    type: "secret text",
    schema: textSchema(options),
    parse: (raw) => {
      if (raw instanceof Secret) return good(raw);
      const parsed = parseText(raw, options);
      return parsed.ok ? good(new Secret(parsed.value)) : parsed;
    },
  });
}

/** true, false, yes, no, on, off, 1, 0. */
export function flag<D extends boolean | null = boolean>(
  options: SettingOptions<D>,
): Setting<boolean | OrNull<D>> {
  return makeSetting(options, {
    kind: "flag",
    type: "flag",
    schema: { type: "boolean" },
    parse: (raw): Parsed<boolean> => {
      if (typeof raw === "boolean") return good(raw);
      const word =
        typeof raw === "string" ? raw.trim().toLowerCase() : raw === 1 ? "1" : raw === 0 ? "0" : "";
      if (YES.has(word)) return good(true);
      return NO.has(word) ? good(false) : bad("must be true or false");
    },
  });
}

export function oneOf<const V extends string, D extends NoInfer<V> | null = NoInfer<V>>(
  values: readonly V[],
  options: SettingOptions<D>,
): Setting<V | OrNull<D>> {
  return makeSetting(options, {
    kind: "oneOf",
    type: `one of ${values.join(", ")}`,
    schema: { enum: values },
    parse: (raw): Parsed<V> => {
      const found = values.find((value) => value === raw);
      return found === undefined ? bad(`must be one of ${values.join(", ")}`) : good(found);
    },
  });
}

/** A list in the file, comma-separated in the environment. */
export function list<D extends readonly string[] | null = readonly string[]>(
  options: ListOptions<D>,
): Setting<readonly string[] | OrNull<D>> {
  const { minItems = 0, maxItems = 1000, pattern, patternRule } = options;
  const items = { type: "string", minLength: 1, ...patternSchema(pattern) };
  return makeSetting(options, {
    kind: "list",
    type: "list of text",
    schema: { type: ["array", "string"], items, minItems, maxItems },
    parse: (raw) => parseList(raw, { minItems, maxItems, pattern, patternRule }),
  });
}

function parseList(
  raw: unknown,
  { minItems, maxItems, pattern, patternRule }: ListRules,
): Parsed<readonly string[]> {
  const items = typeof raw === "string" ? splitList(raw) : raw;
  if (!isList(items)) return bad("must be a list of text, or text separated by commas");
  const texts: string[] = [];
  for (const item of items) {
    if (typeof item !== "string" || item === "") return bad("must hold only text that is not empty");
    if (pattern && !matchesWhole(pattern, item))
      return bad(
        `${patternRule ?? `must hold only text that matches ${pattern}`} (${JSON.stringify(item)} does not)`,
      );
    texts.push(item);
  }
  if (items.length < minItems) return bad(`must have at least ${minItems} items`);
  if (items.length > maxItems) return bad(`must have at most ${maxItems} items`);
  return good(texts);
}

function textSchema({ minLength = 1, maxLength = 4096, pattern }: TextOptions<unknown>): JsonSchema {
  return { type: "string", minLength, maxLength, ...patternSchema(pattern) };
}

/** Omits patterns with lookahead, which Helm can't check; only the service does. */
function patternSchema(pattern: RegExp | undefined): JsonSchema {
  if (pattern === undefined || /\(\?[!<=]/.test(pattern.source)) return {};
  return { pattern: wholly(pattern) };
}

function parseText(raw: unknown, options: TextOptions<unknown>): Parsed<string> {
  const { minLength = 1, maxLength = 4096, pattern, patternRule } = options;
  if (typeof raw !== "string") return bad("must be text");
  if (raw.length < minLength)
    return bad(minLength === 1 ? "must not be empty" : `must have at least ${minLength} characters`);
  if (raw.length > maxLength) return bad(`must have at most ${maxLength} characters`);
  if (pattern && !matchesWhole(pattern, raw)) return bad(patternRule ?? `must match ${pattern}`);
  return good(raw);
}

function matchesWhole(pattern: RegExp, value: string): boolean {
  return new RegExp(wholly(pattern), pattern.flags.replaceAll(/[gy]/g, "")).test(value);
}

function wholly({ source }: RegExp): string {
  return `^(?:${source})$`;
}

function splitList(raw: string): string[] {
  return raw
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
