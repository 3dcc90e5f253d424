// Settings of a service, as a command is told of them: from its file, and the environment.
import { readTextFile, SettingsError, yamlValue } from "@isochrone/runtime";
import { isRecord, reasonOf } from "@isochrone/primitives";
import { usageError } from "./errors.ts";

type SettingsSections = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * Loads what the named sections of the file say; a service's file has others, too. Throws CommandError when
 * the file can't be read, or `load` finds settings that are wrong.
 * @param path undefined: no file
 * @param of whose settings they are, for the error
 */
export function fromSettingsFile<T>(
  path: string | undefined,
  { of, sections }: { readonly of: string; readonly sections: readonly string[] },
  load: (file: SettingsSections) => T,
): T {
  try {
    return load(path === undefined ? {} : sectionsOf(path, sections));
  } catch (error) {
    const rule =
      error instanceof SettingsError
        ? `the settings of ${of}${path === undefined ? "" : ` in ${path}`} are wrong`
        : `--settings must be a readable YAML or JSON file, got ${path}`;
    throw usageError(`${rule}: ${reasonOf(error)}`, { cause: error });
  }
}

function sectionsOf(path: string, sections: readonly string[]): SettingsSections {
  const file = yamlValue(readTextFile(path)) ?? {};
  if (!isRecord(file)) throw new TypeError("it must have sections by name");
  return Object.fromEntries(
    sections.map((name) => {
      const section = file[name] ?? {};
      if (!isRecord(section)) throw new TypeError(`section ${name} must have settings by name`);
      return [name, section];
    }),
  );
}
