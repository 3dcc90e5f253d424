import { isList } from "@isochrone/primitives";
import type { FieldMistake } from "./problem.ts";

const MAX_VALUE_CHARACTERS = 100;

interface SchemaMistake {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: object;
  readonly message: string;
}

interface RequestParts {
  readonly body: unknown;
  readonly query: unknown;
  readonly params: unknown;
}

export function describeMistakes(
  mistakes: readonly unknown[],
  context: string,
  request: RequestParts,
): FieldMistake[] {
  return ofUnions(mistakes as readonly SchemaMistake[]).flatMap((mistake) =>
    describe(mistake, context, request),
  );
}

/** Merges the errors of a union's branches into one with the allowed values. */
function ofUnions(mistakes: readonly SchemaMistake[]): readonly SchemaMistake[] {
  const unions = new Set(
    mistakes.filter(({ keyword }) => keyword === "anyOf").map(({ instancePath }) => instancePath),
  );
  return mistakes.flatMap((mistake) => {
    const { instancePath, keyword } = mistake;
    if (!unions.has(instancePath)) return [mistake];
    if (keyword !== "anyOf") return [];
    const branches = mistakes.filter((each) => each.instancePath === instancePath);
    const allowedValues = branches.flatMap(({ params }) =>
      Object.hasOwn(params, "allowedValue") ? [String(Reflect.get(params, "allowedValue"))] : [],
    );
    const types = branches.flatMap(({ params }) => {
      const type: unknown = Reflect.get(params, "type");
      return typeof type === "string" ? [type] : [];
    });
    const params = { allowedValues: [...new Set([...allowedValues, ...types])] };
    return [{ ...mistake, keyword: "enum", params }];
  });
}

function describe(mistake: SchemaMistake, context: string, request: RequestParts): FieldMistake[] {
  const path = mistake.instancePath.split("/").slice(1).map(unescapePointer);
  const name = (extra?: string): string =>
    [context, ...path, ...(extra === undefined ? [] : [extra])].join(".");
  const missing = names(mistake.params, "requiredProperties");
  if (mistake.keyword === "required")
    return missing.map((key) => ({ field: name(key), rule: "must be present" }));
  const unknown = names(mistake.params, "additionalProperties");
  if (mistake.keyword === "additionalProperties")
    return unknown.map((key) => ({ field: name(key), rule: "is not known" }));
  if (mistake.keyword === "boolean") return [];
  const value = valueAt(request, context, path);
  return [
    { field: name(), rule: ruleText(mistake), ...(value === undefined ? {} : { value: shorten(value) }) },
  ];
}

function names(params: object, key: string): readonly string[] {
  const found: unknown = Reflect.get(params, key);
  return isList(found) ? found.filter((name) => typeof name === "string") : [];
}

function ruleText({ keyword, message, params }: SchemaMistake): string {
  const allowed = names(params, "allowedValues");
  if (keyword === "enum" && allowed.length > 0) return `must be one of ${allowed.join(", ")}`;
  return message;
}

function valueAt(request: RequestParts, context: string, path: readonly string[]): unknown {
  const parts: Readonly<Record<string, unknown>> = {
    body: request.body,
    querystring: request.query,
    params: request.params,
  };
  // Header values are omitted because they may be credentials.
  let value = parts[context];
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function shorten(value: unknown): unknown {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length <= MAX_VALUE_CHARACTERS ? text : `${text.slice(0, MAX_VALUE_CHARACTERS)}…`;
}

function unescapePointer(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}
