/** A record as any bus hands it over. */
export interface IncomingRecord {
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly appendedAtMs: number;
}
