import { existsSync } from "node:fs";
import { isList, looseFields, reasonOf } from "@isochrone/primitives";
import { SettingsError } from "../errors.ts";
import { readTextFile, yamlValue } from "./yaml-text.ts";

/**
 * Parses a YAML or JSON file with `read`. Throws SettingsError that prefixes the path to each of the error's
 * `mistakes`.
 * @param subject content of the file
 */
export function checkedFile<T>(path: string, subject: string, read: (value: unknown) => T): T {
  try {
    return read(yamlValue(readTextFile(path)));
  } catch (error) {
    const { mistakes } = looseFields<{ mistakes: string[] }>(error);
    throw new SettingsError(
      !isList(mistakes)
        ? [`${subject} must be in a readable YAML or JSON file, got ${path}: ${reasonOf(error)}`]
        : mistakes.map((mistake) => `${path}: ${String(mistake)}`),
      error,
    );
  }
}

export function checkedFileIfAny<T>(path: string, subject: string, read: (value: unknown) => T): T | null {
  return existsSync(path) ? checkedFile(path, subject, read) : null;
}
