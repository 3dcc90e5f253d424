import { isSortAlgorithm, SORT_ALGORITHMS, workloadOrder } from "@isochrone/placement";
import type { OrderFault, WorkloadOrder } from "@isochrone/placement";
import { readTextFile } from "@isochrone/runtime";
import { reasonOf } from "@isochrone/primitives";
import { CommandError, usageError } from "../errors.ts";
import { formatted } from "../output/format.ts";
import type { Format } from "../output/format.ts";
import { table } from "../output/table.ts";
import { DumpError } from "../score/errors.ts";
import { DUMP_BYTES, readObjects } from "../score/read-objects.ts";
import type { DumpObject } from "../score/read-objects.ts";

export interface AppGroupOrderOptions {
  readonly algorithm?: string;
  readonly name?: string;
  readonly output: Format;
}

interface Place {
  readonly selector: string;
  readonly index: number;
}

/** Prints the scheduling order; faults that permit one go to `note`. Throws CommandError with the place. */
export async function appGroupOrderCommand(
  file: string,
  options: AppGroupOrderOptions,
  print: (text: string) => void,
  note: (text: string) => void,
): Promise<void> {
  const { algorithm } = options;
  if (algorithm !== undefined && !isSortAlgorithm(algorithm))
    throw usageError(
      `--algorithm must be one of ${SORT_ALGORITHMS.join(", ")}, got ${JSON.stringify(algorithm)}`,
    );
  try {
    const group = appGroupIn(readText(file), file, options.name);
    const result = workloadOrder(group.json["spec"], algorithm);
    checkFaults(group, result, note);
    const places = placesOf(result);
    print(formatted(options.output, places, () => textOf(group, result, places)));
  } catch (error) {
    if (error instanceof DumpError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

function readText(file: string): string {
  try {
    return readTextFile(file, DUMP_BYTES);
  } catch (error) {
    throw new CommandError(`the AppGroup must be in a readable file: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

function appGroupIn(text: string, file: string, name: string | undefined): DumpObject {
  const groups = readObjects(text, file).filter(({ kind }) => kind === "AppGroup");
  const [group, ...others] = groups.filter((each) => name === undefined || each.name === name);
  if (group !== undefined && others.length === 0) return group;
  const names = groups.map((each) => each.name).join(", ") || "none";
  const rule =
    name === undefined ? "must hold one AppGroup, or --name say which" : `must hold one AppGroup ${name}`;
  throw new CommandError(`${file}: the file ${rule}, got ${names}`);
}

/** Only a malformed spec is an error. Other faults, cycles included, are ordered as the controller does. */
function checkFaults(group: DumpObject, { faults }: WorkloadOrder, note: (text: string) => void): void {
  const malformed = faults.find(({ code }) => code === "MalformedSpec");
  if (malformed !== undefined) throw errorOf(group, malformed);
  for (const fault of faults) note(errorOf(group, fault).message);
}

function errorOf(group: DumpObject, { path, rule, value }: OrderFault): DumpError {
  return group.fail(path, rule, value);
}

function placesOf({ order }: WorkloadOrder): Place[] {
  return order
    .map(({ workload: { selector }, index }) => ({ selector, index }))
    .sort((a, b) => a.index - b.index);
}

function textOf(group: DumpObject, { algorithm }: WorkloadOrder, places: readonly Place[]): string {
  return [
    `${group.namespace}/${group.name} by ${algorithm}`,
    "",
    table(
      ["index", "selector"],
      places.map(({ selector, index }) => [index, selector]),
    ),
  ].join("\n");
}
