// Applies the CustomResourceDefinitions of Isochrone like the chart: only if nothing valid becomes invalid.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { hasCondition, isStoreError, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { readTextFile, systemClock, yamlDocuments } from "@isochrone/runtime";
import { reasonOf } from "@isochrone/primitives";
import type { YamlDocument } from "@isochrone/runtime";
import { narrowings } from "../crds/narrowing.ts";
import { CommandError, usageError } from "../errors.ts";
import { openStore } from "../kubernetes.ts";
import { formatted, type Format } from "../output/format.ts";

interface CrdsApplyOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly output: Format;
  readonly dryRun?: boolean;
}

type Print = (text: string) => void;

interface Applied {
  readonly name: string;
  readonly result: "created" | "applied" | "would_be_applied" | "left";
}

const WORDS: Readonly<Record<Applied["result"], string>> = {
  created: "created",
  applied: "applied",
  would_be_applied: "would be applied",
  left: "what is there allows more, and stays",
};

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;
const CRD_LIMITS = { bytes: 4 * 1024 * 1024, nesting: 100, lexemes: 1_000_000 };
const FIELD_MANAGER = "isochrone-crds";
const ESTABLISHED_WITHIN_MS = 30_000;
const POLL_MS = 250;

/** A narrowing definition isn't applied; throws CommandError unless the existing one covers ours. */
export async function crdsApplyCommand(
  folder: string,
  options: CrdsApplyOptions,
  print: Print,
): Promise<void> {
  const definitions = readDefinitions(folder);
  const opened = openStore(options.kubeconfig, options.context);
  const done: Applied[] = [];
  try {
    for (const definition of definitions) {
      const applied = await apply(opened.store, definition, options.dryRun ?? false);
      done.push(applied);
      // Printed one by one, since a later one may be refused.
      if (options.output === "table") print(`${applied.name}: ${WORDS[applied.result]}`);
    }
    if (options.output !== "table") print(formatted(options.output, done, () => ""));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`the cluster can't be reached: ${reasonOf(error)}`, { cause: error });
  } finally {
    await opened.close();
  }
}

function readDefinitions(folder: string): KubernetesObject[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
  } catch (error) {
    throw usageError(`the folder ${folder} can't be read: ${reasonOf(error)}`);
  }
  const objects = names.sort().flatMap((name) => {
    return definitionsOf(join(folder, name))
      .map(({ json }) => json() as KubernetesObject | null)
      .filter((object) => object !== null);
  });
  const other = objects.find(({ kind }) => kind !== CRD.kind);
  if (other !== undefined) throw usageError(`${folder} must hold definitions alone, got a ${other.kind}`);
  if (objects.length === 0) throw usageError(`${folder} must hold a definition, got none`);
  return objects;
}

function definitionsOf(file: string): YamlDocument[] {
  try {
    return yamlDocuments(readTextFile(file, CRD_LIMITS.bytes), CRD_LIMITS);
  } catch (error) {
    throw usageError(`${file}: ${reasonOf(error)}`, { cause: error });
  }
}

async function apply(store: ClusterStore, wanted: KubernetesObject, dryRun: boolean): Promise<Applied> {
  const { name } = wanted.metadata;
  const there = await store.get({ ...CRD, name });
  if (there !== null) {
    const lost = narrowings(there, wanted);
    if (lost.length > 0) {
      const missing = narrowings(wanted, there);
      if (missing.length === 0) return { name, result: "left" };
      throw new CommandError(
        `${name}: applying it would take away what is allowed now:\n  ${lost.join("\n  ")}\nand what is there lacks:\n  ${missing.join("\n  ")}`,
      );
    }
  }
  // Forced: the check above showed that nothing is lost, and versions are one field.
  await store.apply(wanted, { fieldManager: FIELD_MANAGER, force: true, dryRun });
  if (dryRun) return { name, result: "would_be_applied" };
  await established(store, name);
  return { name, result: there === null ? "created" : "applied" };
}

async function established(store: ClusterStore, name: string): Promise<void> {
  const deadline = systemClock.monotonic() + ESTABLISHED_WITHIN_MS;
  for (;;) {
    const object = await store.get({ ...CRD, name }).catch((error: unknown) => {
      if (isStoreError(error, "unavailable")) return null;
      throw error;
    });
    if (object !== null && hasCondition(object, "Established")) return;
    if (systemClock.monotonic() > deadline)
      throw new CommandError(`${name} is not established after ${ESTABLISHED_WITHIN_MS} ms`);
    await systemClock.sleep(POLL_MS);
  }
}
