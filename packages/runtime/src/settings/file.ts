import { reasonOf } from "@isochrone/primitives";
import { SettingsError } from "../errors.ts";
import { readTextFile, yamlValue } from "./yaml-text.ts";

type RawSections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Reads YAML or JSON. Throws SettingsError if unreadable or not a map of sections. */
export function readSettingsFile(path: string): RawSections {
  let content: unknown;
  try {
    content = yamlValue(readTextFile(path));
  } catch (error) {
    const reason = reasonOf(error);
    throw new SettingsError([`settings file ${path} must be readable YAML or JSON: ${reason}`], error);
  }
  if (content === null || content === undefined) return {};
  if (typeof content !== "object" || Array.isArray(content))
    throw new SettingsError([
      `settings file ${path} must hold a table of sections, got ${Array.isArray(content) ? "a list" : typeof content}`,
    ]);
  return content as RawSections;
}
