// What the API server answers, and in which form.
import type { IncomingMessage } from "node:http";

import { parsedWithoutManagedFields } from "./managed-fields.ts";
import { readObject } from "./protobuf/envelope.ts";

/** An answer in whatever form it came: give its bytes back when they are read. */
export interface Answer {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly isBinary: boolean;
}

/** Objects of which only the metadata are wanted. */
export type MetadataForm = "PartialObjectMetadata" | "PartialObjectMetadataList";

export const JSON_FORM = "application/json";
const BINARY_FORM = "application/vnd.kubernetes.protobuf";
/** What a server says that has no such form, though JSON is asked for as well. */
export const NOT_IN_THIS_FORM: ReadonlySet<number> = new Set([406, 415]);

/** The forms that are asked for, the better one first. */
export function acceptOf(as: MetadataForm | undefined, isBinary = false): string {
  const forms = isBinary ? [BINARY_FORM, JSON_FORM] : [JSON_FORM];
  return forms.map((form) => (as === undefined ? form : `${form};as=${as};g=meta.k8s.io;v=v1`)).join(", ");
}

/** Whether an answer is in binary form, whatever was asked for. */
export function isBinary({ headers: { "content-type": type = "" } }: IncomingMessage): boolean {
  return type.startsWith(BINARY_FORM);
}

export async function bodyOf(response: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What a JSON answer says; see ApiRequest.dropsManagedFields. */
export function jsonOf(bytes: Buffer, dropsManagedFields = false): unknown {
  return dropsManagedFields ? parsedWithoutManagedFields(bytes) : JSON.parse(bytes.toString());
}

/** What an answer that isn't a success says: a Status, or a text. */
export function saidBy(bytes: Buffer, isBinary: boolean): unknown {
  try {
    return isBinary ? readObject(bytes, "refused").value : JSON.parse(bytes.toString());
  } catch {
    return bytes.toString();
  }
}

/**
 * Frees a buffer that nobody uses any more. Left to V8, which collects the whole heap for so much memory
 * outside of it, a page of a list costs a fifth more.
 */
export function giveBack({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  // Small ones share their memory.
  if (byteLength === buffer.byteLength) buffer.transfer(0);
}
