import type { IncomingMessage } from "node:http";

import { parsedWithoutManagedFields } from "./managed-fields.ts";
import { readObject } from "./protobuf/envelope.ts";

/** An answer in JSON or binary form. Call giveBack on its bytes after reading. */
export interface Answer {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly isBinary: boolean;
}

export type MetadataForm = "PartialObjectMetadata" | "PartialObjectMetadataList";

export const JSON_FORM = "application/json";
const BINARY_FORM = "application/vnd.kubernetes.protobuf";
/** Statuses of servers that reject the binary form, although the request accepts JSON, too. */
export const NOT_IN_THIS_FORM: ReadonlySet<number> = new Set([406, 415]);

export function acceptOf(as: MetadataForm | undefined, isBinary = false): string {
  const forms = isBinary ? [BINARY_FORM, JSON_FORM] : [JSON_FORM];
  return forms.map((form) => (as === undefined ? form : `${form};as=${as};g=meta.k8s.io;v=v1`)).join(", ");
}

export function isBinary({ headers: { "content-type": type = "" } }: IncomingMessage): boolean {
  return type.startsWith(BINARY_FORM);
}

export async function bodyOf(response: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function jsonOf(bytes: Buffer, dropsManagedFields = false): unknown {
  return dropsManagedFields ? parsedWithoutManagedFields(bytes) : JSON.parse(bytes.toString());
}

export function saidBy(bytes: Buffer, isBinary: boolean): unknown {
  try {
    return isBinary ? readObject(bytes, "refused").value : JSON.parse(bytes.toString());
  } catch {
    return bytes.toString();
  }
}

/**
 * Frees an unused buffer at once. Waiting for V8, which collects the whole heap for external memory, makes
 * listing 20 % slower.
 */
export function giveBack({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  if (byteLength === buffer.byteLength) buffer.transfer(0);
}
