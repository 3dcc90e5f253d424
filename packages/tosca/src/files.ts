import { codeOf, reasonOf } from "@isochrone/primitives";
import { readFile, stat } from "node:fs/promises";
import { ToscaError } from "./errors.ts";
import { checkSize, LIMITS } from "./source.ts";

/** Where imported files come from. */
export interface FileSource {
  /** The text of the file at this path; null when there is none. */
  read(path: string): Promise<string | null>;
}

/** This machine's files. Pipes and devices are none; what is too large is not read. */
export const localFiles: FileSource = {
  async read(path) {
    try {
      const stats = await stat(path);
      if (!stats.isFile()) throw unreadable(path, "it is no regular file");
      checkSize(stats.size, LIMITS.jsonBytes, path);
      return await readFile(path, "utf8");
    } catch (error) {
      if (error instanceof ToscaError) throw error;
      if (codeOf(error) === "ENOENT") return null;
      throw unreadable(path, reasonOf(error));
    }
  },
};

function unreadable(file: string, reason: string): ToscaError {
  return new ToscaError(
    "malformed",
    { file, line: null, column: null },
    `the file must be readable: ${reason}`,
  );
}
