import { reasonOf } from "@isochrone/primitives";
import { TextError, YAML_LIMITS, yamlSizeProblem } from "@isochrone/runtime";
import { parse } from "yaml";
import type { Cursor } from "./cursor.ts";
import { ToscaError, shown } from "./errors.ts";
import type { Mistakes } from "./mistakes.ts";
import { constraintFault, typeFault } from "./values.ts";

/** Inputs of a template: given values, else defaults. Unused ones may be invalid. */
export class Inputs {
  readonly #topology: Cursor;
  readonly #declared: ReadonlyMap<string, Cursor>;
  readonly #given: ReadonlyMap<string, string>;

  constructor(topology: Cursor, given: ReadonlyMap<string, string>, mistakes: Mistakes) {
    this.#topology = topology;
    this.#declared = new Map(topology.get("inputs")?.entries() ?? []);
    this.#given = given;
    for (const name of given.keys()) mistakes.attempt(() => this.#checkGiven(name));
  }

  value(name: string, at: Cursor): unknown {
    const definition = this.#declared.get(name);
    if (definition === undefined)
      throw at.error(
        "unresolved",
        `must name an input (${[...this.#declared.keys()].join(", ") || "there are none"}), got ${JSON.stringify(name)}`,
      );
    const given = this.#given.get(name);
    if (given !== undefined) return givenValue(name, definition, given);
    const preset = definition.either("value", "default");
    if (preset !== null) {
      const fault = faultOf(preset.value, definition);
      if (fault !== null) throw preset.fail(fault, "invalid_value");
      return preset.value;
    }
    if (definition.get("required")?.value === false)
      throw at.error("unresolved", `must have a value: the input ${name} was not given`);
    throw definition.error("invalid_option", `must be given, by --input ${name}=VALUE`);
  }

  #checkGiven(name: string): void {
    const definition = this.#declared.get(name);
    if (definition !== undefined) givenValue(name, definition, this.#given.get(name)!);
    else
      throw (this.#topology.get("inputs") ?? this.#topology).error(
        "invalid_option",
        `must declare the input ${name} that is given; declared: ${[...this.#declared.keys()].join(", ") || "none"}`,
      );
  }
}

function givenValue(name: string, definition: Cursor, given: string): unknown {
  const value = typeOf(definition) === "string" ? given : valueOf(name, given);
  const fault = faultOf(value, definition);
  if (fault === null) return value;
  throw new ToscaError(
    "invalid_option",
    { file: "--input", line: null, column: null },
    `${name} ${fault}, got ${shown(value)}`,
  );
}

function typeOf(definition: Cursor): string {
  return definition.get("type")?.text() ?? "";
}

function faultOf(value: unknown, definition: Cursor): string | null {
  return typeFault(value, typeOf(definition)) ?? constraintFault(value, definition);
}

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
