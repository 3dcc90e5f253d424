import { codeOf, reasonOf } from "@isochrone/primitives";
import { readdir, readFile, stat } from "node:fs/promises";
import { ToscaError } from "./errors.ts";
import { checkSize, LIMITS } from "./source.ts";

interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

export interface FileSource {
  read(path: string): Promise<string | null>;
  list?(folder: string): Promise<readonly FolderEntry[]>;
}

export const localFiles: FileSource = {
  async read(path) {
    try {
      const stats = await stat(path);
      if (!stats.isFile()) throw unreadable(path, "it is no regular file");
      checkSize(stats.size, LIMITS.jsonBytes, path);
      return await readFile(path, "utf8");
    } catch (error) {
      if (error instanceof ToscaError) throw error;
      if (ABSENT.has(codeOf(error) ?? "")) return null;
      throw unreadable(path, reasonOf(error));
    }
  },
  async list(folder) {
    try {
      const entries = await readdir(folder, { withFileTypes: true });
      return entries
        .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch {
      return [];
    }
  },
};

const ABSENT: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG"]);

function unreadable(file: string, reason: string): ToscaError {
  return new ToscaError(
    "malformed",
    { file, line: null, column: null },
    `the file must be readable: ${reason}`,
  );
}
