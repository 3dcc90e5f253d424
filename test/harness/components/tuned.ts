import { join } from "node:path";
import { environmentName } from "@isochrone/runtime/testing";
import { SECTIONS } from "../helm/sections.ts";

/** Values by section and key, as in docs/configuration.md, and constants. */
export type ComponentSettings = Readonly<
  Record<string, Readonly<Record<string, string | number | boolean | readonly string[] | null>>>
>;

export const TUNED: readonly string[] = ["--import", join(import.meta.dirname, "tuned-process.ts")];

const CONSTANTS: ReadonlySet<string> = new Set(
  Object.values(SECTIONS).flatMap((sections) =>
    sections.flatMap(({ name, table }) =>
      Object.entries(table).flatMap(([key, { removed }]) => (removed === null ? [] : [`${name}.${key}`])),
    ),
  ),
);

export function tunedEnvironment(settings: ComponentSettings): Record<string, string> {
  const all = Object.entries(settings).flatMap(([section, values]) =>
    Object.entries(values).map(([key, value]): [string, string] =>
      CONSTANTS.has(`${section}.${key}`)
        ? [`ISOCHRONE_TEST_CONSTANT_${section}.${key}`, JSON.stringify(value)]
        : [environmentName(section, key), String(value)],
    ),
  );
  return Object.fromEntries(all);
}
