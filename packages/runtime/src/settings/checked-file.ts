import { existsSync } from "node:fs";
import { isList, looseFields, reasonOf } from "@isochrone/primitives";
import { SettingsError } from "../errors.ts";
import { readTextFile, yamlValue } from "./yaml-text.ts";

/**
 * What a YAML or JSON file says, as `read` makes it of its value. Throws SettingsError, with the path before
 * each of the `mistakes` of the error that `read` throws.
 * @param subject what is in the file
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

/** As {@link checkedFile}; null: there is no such file. */
export function checkedFileIfAny<T>(path: string, subject: string, read: (value: unknown) => T): T | null {
  return existsSync(path) ? checkedFile(path, subject, read) : null;
}
