import { basename, normalize } from "node:path";
import { applicationOf, type Application, type Naming } from "./application.ts";
import { isClout, readClout } from "./clout.ts";
import { ToscaError } from "./errors.ts";
import { localFiles, type FileSource } from "./files.ts";
import { BUILT_IN_MAPPING, type Mapping } from "./mapping/mapping.ts";
import { readMapping } from "./mapping/mapping-file.ts";
import { readServiceTemplate } from "./service-template.ts";
import { parseSource } from "./source.ts";

export interface ReadOptions extends Naming {
  /** Input values as YAML, by name. @default the template's presets */
  readonly inputs?: ReadonlyMap<string, string>;
  /** A file that maps types. @default the built-in mapping */
  readonly mapping?: string;
  /** Folders searched recursively for profiles. @default the template's folder */
  readonly profiles?: readonly string[];
  /** Reads only services and channels, insufficient for manifests. @default false */
  readonly isGraphOnly?: boolean;
  readonly files?: FileSource;
}

/**
 * Reads a TOSCA service template (1.0 to 1.3, much of 2.0) or a Puccini Clout, as YAML or JSON. Throws
 * ToscaError.
 */
export async function readTosca(file: string, options: ReadOptions = {}): Promise<Application> {
  const { inputs = new Map<string, string>(), files = localFiles } = options;
  const { profiles = [], isGraphOnly = false } = options;
  const path = normalize(file);
  const source = parseSource(await textOf(file, path, files), path);
  const mapping = options.mapping === undefined ? BUILT_IN_MAPPING : await mappingOf(options.mapping, files);
  if (isClout(source) && inputs.size > 0)
    throw new ToscaError(
      "invalid_value",
      { file, line: null, column: null },
      "inputs must be given to the compiler: a Clout has none left",
    );
  const draft = isClout(source)
    ? readClout(source, mapping, isGraphOnly)
    : await readServiceTemplate(source, files, { inputs, mapping, profiles, isGraphOnly });
  return applicationOf(draft, options, basename(file).replace(/(\.clout)?\.(ya?ml|json)$/i, ""));
}

async function mappingOf(file: string, files: FileSource): Promise<Mapping> {
  const path = normalize(file);
  return readMapping(await textOf(file, path, files), path);
}

async function textOf(file: string, path: string, files: FileSource): Promise<string> {
  const text = await files.read(path);
  if (text === null)
    throw new ToscaError("unresolved", { file, line: null, column: null }, "the file must be there");
  return text;
}
