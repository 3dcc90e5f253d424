// Exports this replica's decisions and plans to others, and imports theirs.
import type { DecisionLog } from "../domain/decision-log.ts";
import type { LoggedProposal, PlanLog } from "../domain/plan-log.ts";
import { decodeDecision, encodeDecision, isPlan } from "./record-wire.ts";
import type { Page } from "./record-wire.ts";

interface SharedRecordsParts {
  readonly decisions: DecisionLog;
  readonly plans: PlanLog;
  readonly replica: string;
  readonly life: string;
  readonly isLeader: () => boolean;
}

interface Taken {
  readonly copied: number;
  readonly refused: number;
}

const PAGE_BYTES = 1024 * 1024;
/** Larger records aren't shared. */
const MAX_RECORD_BYTES = 2 * 1024 * 1024;
export const MAX_PAGE_BYTES: number = PAGE_BYTES + 2 * MAX_RECORD_BYTES;

interface Cursor {
  readonly decisions: number;
  readonly plans: number;
  readonly proposals: number;
}

const BEGINNING: Cursor = { decisions: 0, plans: 0, proposals: 0 };

export class SharedRecords {
  readonly #parts: SharedRecordsParts;

  constructor(parts: SharedRecordsParts) {
    this.#parts = parts;
  }

  get replica(): string {
    return this.#parts.replica;
  }

  get life(): string {
    return this.#parts.life;
  }

  /**
   * Changes after the cursor, as JSON.
   * @param cursor of an earlier page; from the beginning if of another life or empty
   * @param asker life of the asking replica; its own changes are left out
   */
  page(cursor: string, asker: string): string {
    const { decisions, plans, replica, life, isLeader } = this.#parts;
    const after = parseCursor(cursor, life);
    const room = new Room();
    const leads = isLeader();
    const next = { decisions: decisions.seq, plans: plans.seq, proposals: after.proposals };
    const found: string[] = [];
    for (const change of decisions.changes(after.decisions, asker)) {
      if (!room.take(found, () => JSON.stringify(encodeDecision(decisions, change)))) {
        next.decisions = change.seq - 1;
        break;
      }
    }
    const planned: string[] = [];
    for (const { plan, seq } of plans.changes(after.plans, asker)) {
      if (!room.take(planned, () => JSON.stringify(plan))) {
        next.plans = seq - 1;
        break;
      }
    }
    const { proposals, seq } = plans.proposed;
    const proposed: string[] = [];
    const isNews = leads && seq > after.proposals;
    const isTold = isNews && room.take(proposed, () => JSON.stringify(proposals));
    if (isTold) next.proposals = seq;
    const fields = JSON.stringify({
      replica,
      life,
      leads,
      cursor: [life, next.decisions, next.plans, next.proposals].join("."),
      more: room.isFull,
    });
    return `${fields.slice(0, -1)},"decisions":[${found.join()}],"plans":[${planned.join()}],"proposals":${proposed[0] ?? "null"}}`;
  }

  take(page: Page): Taken {
    const { decisions, plans, isLeader } = this.#parts;
    const { life } = page;
    let copied = 0;
    let refused = 0;
    for (const value of page.decisions) {
      const shared = decodeDecision(value);
      if (shared === null) refused++;
      else if (decisions.copy(shared, life)) copied++;
    }
    for (const value of page.plans) {
      if (!isPlan(value)) refused++;
      else if (plans.copy(value, life)) copied++;
    }
    if (page.proposals === null || !page.leads || isLeader()) return { copied, refused };
    const proposals = page.proposals.filter((value): value is LoggedProposal => isPlan(value));
    plans.copyProposals(proposals);
    return {
      copied: copied + proposals.length,
      refused: refused + page.proposals.length - proposals.length,
    };
  }
}

class Room {
  #bytes = 0;
  isFull = false;

  take(list: string[], make: () => string): boolean {
    if (this.#bytes >= PAGE_BYTES) {
      this.isFull = true;
      return false;
    }
    const text = make();
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_RECORD_BYTES) return true;
    list.push(text);
    this.#bytes += bytes;
    return true;
  }
}

function parseCursor(text: string, life: string): Cursor {
  const [of, ...counts] = text.split(".");
  const [decisions, plans, proposals] = counts.map(Number);
  if (of !== life || !isCount(decisions) || !isCount(plans) || !isCount(proposals)) return BEGINNING;
  return { decisions, plans, proposals };
}

function isCount(value: number | undefined): value is number {
  return Number.isSafeInteger(value) && value! >= 0;
}
