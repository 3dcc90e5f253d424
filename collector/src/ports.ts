import type { TargetKind } from "./domain/families.ts";

export type { TargetKind } from "./domain/families.ts";

/** A page to scrape. */
export interface Target {
  readonly kind: TargetKind;
  readonly url: string;
  /** Who is behind it, for logs and `service.instance.id`; unique per target. */
  readonly instance: string;
  /** Bearer token, when the page asks for one. Never logged. */
  readonly token?: string;
}

/** Where targets come from; asked before every round, so it answers from memory. */
export interface TargetSource {
  targets(): readonly Target[];
}

/** Reads one page. Throws ScrapeError. */
export interface PageReader {
  read(
    target: Target,
    options: {
      readonly timeoutMs: number;
      readonly maxBytes: number;
      readonly signal: AbortSignal;
      onText(chunk: string): boolean;
    },
  ): Promise<void>;
}
