// Checks dependency directions; run by `npm run lint`. Exit code 1 with a line per violation.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkArchitecture, type Manifest, type SourceFile } from "./architecture.ts";

const root = join(import.meta.dirname, "../..");
const folders: string[] = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).workspaces.flatMap(
  (pattern: string) =>
    pattern.endsWith("/*")
      ? readdirSync(join(root, pattern.slice(0, -2))).map((name) => pattern.replace("*", name))
      : [pattern],
);
const manifests = new Map(
  folders.map((folder) => [
    folder,
    JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest,
  ]),
);
const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "*.ts"], {
  cwd: root,
  encoding: "utf8",
});
const files: SourceFile[] = listed
  .split("\n")
  .filter((path) => path !== "" && path !== "tools/src/architecture.test.ts" && existsSync(join(root, path)))
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

const violations = checkArchitecture(files, manifests);
for (const { path, line, rule, message } of violations) console.error(`${path}:${line}: ${rule}: ${message}`);
console.log(`architecture: ${files.length} files, ${violations.length} violations`);
process.exitCode = violations.length === 0 ? 0 : 1;
