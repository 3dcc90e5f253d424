import { basename, normalize } from "node:path";
import { applicationOf, type Application, type Naming } from "./application.ts";
import { isClout, readClout } from "./clout.ts";
import { ToscaError } from "./errors.ts";
import { localFiles, type FileSource } from "./files.ts";
import { readServiceTemplate } from "./service-template.ts";
import { parseSource } from "./source.ts";

export interface ReadOptions extends Naming {
  /** Values of inputs as YAML, by name. @default those that the template presets */
  readonly inputs?: ReadonlyMap<string, string>;
  /** @default this machine's */
  readonly files?: FileSource;
}

/**
 * Reads a TOSCA service template (1.0 to 1.3, much of 2.0) or a Clout of Puccini, YAML or JSON. Throws
 * ToscaError.
 */
export async function readTosca(file: string, options: ReadOptions = {}): Promise<Application> {
  const { inputs = new Map<string, string>(), files = localFiles } = options;
  const path = normalize(file);
  const nowhere = { file, line: null, column: null };
  const text = await files.read(path);
  if (text === null) throw new ToscaError("unresolved", nowhere, "the file must be there");
  const source = parseSource(text, path);
  if (isClout(source) && inputs.size > 0)
    throw new ToscaError(
      "invalid_value",
      nowhere,
      "inputs must be given to the compiler: a Clout has none left",
    );
  const draft = isClout(source) ? readClout(source) : await readServiceTemplate(source, files, inputs);
  return applicationOf(draft, options, basename(file).replace(/(\.clout)?\.(ya?ml|json)$/i, ""));
}
