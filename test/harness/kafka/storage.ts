import { randomBytes } from "node:crypto";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../common/commands.ts";
import type { Distribution } from "./distribution.ts";
import { javaArguments } from "./java.ts";

export interface User {
  readonly username: string;
  readonly password: string;
}

interface NodeFolder {
  readonly nodeId: number;
  readonly folder: string;
}

const FORMAT_DEADLINE_MS = 60_000;
const FORMAT_HEAP_MEGABYTES = 128;

export async function formatStorage(
  distribution: Distribution,
  [first, ...others]: readonly NodeFolder[],
  users: readonly User[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  if (first === undefined) return;
  const scram = users.flatMap(({ username, password }) => [
    "--add-scram",
    `SCRAM-SHA-512=[name=${username},password=${password}]`,
  ]);
  const properties = join(first.folder, "server.properties");
  const args = javaArguments({
    distribution,
    folder: first.folder,
    main: "kafka.tools.StorageTool",
    args: ["format", "--cluster-id", identity(), "--config", properties, ...scram],
    heapMegabytes: FORMAT_HEAP_MEGABYTES,
  });
  await run("java", args, { cwd: first.folder, env: environment, timeoutMs: FORMAT_DEADLINE_MS });
  for (const other of others) await copyFormat(first, other);
}

async function copyFormat(from: NodeFolder, to: NodeFolder): Promise<void> {
  await cp(join(from.folder, "log"), join(to.folder, "log"), { recursive: true });
  const file = join(to.folder, "log", "meta.properties");
  const lines = (await readFile(file, "utf8"))
    .replace(/^node\.id=.*$/m, `node.id=${to.nodeId}`)
    .replace(/^directory\.id=.*$/m, `directory.id=${identity()}`);
  await writeFile(file, lines);
}

/** A UUID in Kafka's format that its tools can't mistake for an option. */
function identity(): string {
  const text = randomBytes(16).toString("base64url");
  return text.startsWith("-") ? identity() : text;
}
