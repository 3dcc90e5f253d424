import { reasonOf } from "@isochrone/primitives";
import { TextError, YAML_LIMITS, yamlSizeProblem } from "@isochrone/runtime";
import { parse } from "yaml";
import type { Cursor } from "./cursor.ts";
import { ToscaError, shown } from "./errors.ts";
import type { Mistakes } from "./mistakes.ts";
import { constraintFault, typeFault } from "./values.ts";

/** By name; null: it has no value; `wrong`: the one that it has can't be. */
export type Inputs = ReadonlyMap<string, { readonly value: unknown } | null | "wrong">;

/** Inputs of a template: what the user gave, else the default. */
export function inputsOf(topology: Cursor, given: ReadonlyMap<string, string>, mistakes: Mistakes): Inputs {
  const declared = new Map(topology.get("inputs")?.entries() ?? []);
  for (const name of given.keys())
    if (!declared.has(name))
      mistakes.add(
        (topology.get("inputs") ?? topology).error(
          "invalid_option",
          `must declare the input ${name} that is given; declared: ${[...declared.keys()].join(", ") || "none"}`,
        ),
      );
  const missing: string[] = [];
  const inputs = new Map<string, { readonly value: unknown } | null | "wrong">();
  for (const [name, definition] of declared) {
    const value = mistakes.attempt(() => inputValue(name, definition, given.get(name)));
    const isMissing = value === null && definition.get("required")?.value !== false;
    if (isMissing) missing.push(name);
    inputs.set(name, value === undefined || isMissing ? "wrong" : value);
  }
  if (missing.length > 0)
    mistakes.add(
      topology
        .get("inputs")!
        .error("invalid_option", `must be given, by --input NAME=VALUE: ${missing.join(", ")}`),
    );
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
        "invalid_option",
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
      "invalid_option",
      { file: "--input", line: null, column: null },
      `${name} must be YAML: ${reasonOf(error).split("\n", 1)[0]}, got ${shown(text)}`,
      { cause: error },
    );
  }
}
