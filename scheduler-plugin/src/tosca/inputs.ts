import { TextError, YAML_LIMITS, yamlSizeProblem } from "@isochrone/runtime";
import { parse } from "yaml";
import type { Cursor } from "./cursor.ts";
import { ToscaError, shown } from "./errors.ts";
import { constraintFault, typeFault } from "./values.ts";

/** Inputs of a template by name: what the user gave, else the default. Throws ToscaError that names all that are missing. */
export function inputsOf(
  topology: Cursor,
  given: ReadonlyMap<string, string>,
): Map<string, { readonly value: unknown } | null> {
  const declared = new Map(topology.get("inputs")?.entries() ?? []);
  for (const name of given.keys())
    if (!declared.has(name))
      throw (topology.get("inputs") ?? topology).error(
        "unresolved",
        `must declare the input ${name} that is given; declared: ${[...declared.keys()].join(", ") || "none"}`,
      );
  const missing: string[] = [];
  const inputs = new Map(
    [...declared].map(([name, definition]) => {
      const value = inputValue(name, definition, given.get(name));
      if (value === null && definition.get("required")?.value !== false) missing.push(name);
      return [name, value];
    }),
  );
  if (missing.length > 0)
    throw topology
      .get("inputs")!
      .error("unresolved", `must be given, by --input NAME=VALUE: ${missing.join(", ")}`);
  return inputs;
}

function inputValue(
  name: string,
  definition: Cursor,
  given: string | undefined,
): { readonly value: unknown } | null {
  const type = definition.get("type")?.text() ?? "";
  if (given !== undefined) {
    const value = type === "string" ? given : valueOf(name, given);
    const fault = faultOf(value, type, definition);
    if (fault !== null)
      throw new ToscaError(
        "invalid_value",
        { file: "--input", line: null, column: null },
        `${name} ${fault}, got ${shown(value)}`,
      );
    return { value };
  }
  const preset = definition.either("value", "default");
  if (preset === null) return null;
  const fault = faultOf(preset.value, type, definition);
  if (fault !== null) throw preset.fail(fault, "invalid_value");
  return { value: preset.value };
}

function faultOf(value: unknown, type: string, definition: Cursor): string | null {
  return typeFault(value, type) ?? constraintFault(value, definition);
}

/** As in a file: numbers, booleans, lists and maps are what they look like. */
function valueOf(name: string, text: string): unknown {
  try {
    const problem = yamlSizeProblem(text, YAML_LIMITS);
    if (problem !== null) throw new TextError(problem);
    return parse(text, { maxAliasCount: 0, uniqueKeys: false });
  } catch (error) {
    throw new ToscaError(
      "malformed",
      { file: "--input", line: null, column: null },
      `${name} must be YAML: ${(error as Error).message.split("\n", 1)[0]}, got ${shown(text)}`,
      { cause: error },
    );
  }
}
