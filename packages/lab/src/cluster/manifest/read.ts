import { fileURLToPath } from "node:url";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { completedObject } from "@isochrone/kubernetes/offline";
import { readTextFile, YAML_LIMITS, yamlSizeProblem } from "@isochrone/runtime";
import { LineCounter, parseAllDocuments } from "yaml";
import { reasonOf } from "@isochrone/primitives";
import { ManifestError } from "../errors.ts";
import type { ManifestProblem } from "../errors.ts";
import { checkManifest } from "./check.ts";
import type { ManifestDocument, WorkflowManifest } from "./model.ts";

/** Sample workflow: 17 services, m0 to m12 and db1 to db4. */
export const SAMPLE_MANIFEST = new URL("../../../manifests/sample-workflow.yaml", import.meta.url);

export async function loadManifest(path: string | URL): Promise<WorkflowManifest> {
  const name = path instanceof URL ? path.pathname : path;
  let text: string;
  try {
    text = readTextFile(path instanceof URL ? fileURLToPath(path) : path);
  } catch (cause) {
    const reason = reasonOf(cause);
    throw new ManifestError([{ file: name, document: 1, line: 1, message: `cannot be read: ${reason}` }]);
  }
  return readManifest(text, name);
}

/** Parses multi-document YAML of Deployments and Services. Throws ManifestError with every broken rule. */
export function readManifest(text: string, file: string): WorkflowManifest {
  const problems: ManifestProblem[] = [];
  const documents = parseDocuments(text, file, problems);
  if (problems.length > 0) throw new ManifestError(problems);
  return checkManifest(file, documents);
}

function parseDocuments(text: string, file: string, problems: ManifestProblem[]): ManifestDocument[] {
  const tooLarge = yamlSizeProblem(text, YAML_LIMITS);
  if (tooLarge !== null) {
    problems.push({ file, document: 1, line: tooLarge.line ?? 1, message: tooLarge.message });
    return [];
  }
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, { lineCounter: lines });
  const lineAt = (offset: number | undefined): number => lines.linePos(offset ?? 0).line;
  const documents: ManifestDocument[] = [];
  for (const [position, document] of [...parsed].entries()) {
    const index = position + 1;
    for (const error of document.errors)
      problems.push({
        file,
        document: index,
        line: lineAt(error.pos[0]),
        message: `is not YAML: ${error.message.split("\n")[0]}`,
      });
    if (document.errors.length > 0) continue;
    const value: unknown = document.toJS();
    if (value === null || value === undefined) continue;
    const start = document.contents?.range?.[0];
    if (!isObject(value)) {
      const found = Array.isArray(value) ? "a list" : typeof value;
      problems.push({
        file,
        document: index,
        line: lineAt(start),
        message: `must be a Kubernetes object with apiVersion, kind and metadata.name, got ${found}`,
      });
      continue;
    }
    const line = (...path: readonly (string | number)[]): number => {
      for (let length = path.length; length > 0; length--) {
        const node: unknown = document.getIn(path.slice(0, length), true);
        const range = (node as { range?: [number, number, number] | null } | undefined)?.range;
        if (range !== undefined && range !== null) return lineAt(range[0]);
      }
      return lineAt(start);
    };
    documents.push({ index, object: completed(value), line });
  }
  return documents;
}

function completed(object: KubernetesObject): KubernetesObject {
  return { ...object, ...completedObject(object.kind, object) };
}

function isObject(value: unknown): value is KubernetesObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
