import { isList, isRecord, looseFields, type LooseFields } from "@isochrone/primitives";

interface JsonDocument {
  readonly text: string;
  readonly linesBefore: number;
}

/**
 * Splits concatenated JSON documents, such as the output of several `kubectl get -o json`, without parsing
 * them. Null: not JSON.
 */
export function jsonDocuments(text: string): JsonDocument[] | null {
  const documents: JsonDocument[] = [];
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]\n]|[^\s"{}[\]]+/gs;
  let depth = 0;
  let start = 0;
  let lines = 0;
  let linesBefore = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [found] = match;
    if (found === "\n") lines++;
    else if (found === "{" || found === "[") {
      if (depth++ === 0) [start, linesBefore] = [match.index, lines];
    } else if (depth === 0) return null;
    else if ((found === "}" || found === "]") && --depth === 0)
      documents.push({ text: text.slice(start, token.lastIndex), linesBefore });
  }
  return depth === 0 && documents.length > 0 ? documents : null;
}

/**
 * Flattens lists. Items of a typed list (PodList) get its kind and version. Null: neither a list nor an
 * object with a kind.
 */
export function listedObjects(json: unknown): readonly LooseFields[] | null {
  if (!isRecord(json)) return null;
  const { apiVersion, kind, items } = json;
  if (!isList(items)) return typeof kind === "string" ? [json] : null;
  const name = typeof kind === "string" ? kind.slice(0, -"List".length) : "";
  const type = name === "" ? {} : { apiVersion, kind: name };
  return items.map((item) => ({ ...type, ...looseFields(item) }));
}
