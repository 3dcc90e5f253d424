import { PlacementError } from "../scoring/errors.ts";

/** A window whose end is before its start ends on the next day. Equal ends mean a whole day. */
export interface MaintenanceWindow {
  /** Days on which it begins; 0: Sunday. */
  readonly days: readonly boolean[];
  readonly fromMinute: number;
  readonly toMinute: number;
}

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const DAY_MINUTES = 24 * 60;
const PATTERN = /^(?:([a-z]{3})(?:-([a-z]{3}))? )?(\d\d):(\d\d)-(\d\d):(\d\d)$/;

/**
 * Parses `HH:MM-HH:MM` with optional `Day` or `Day-Day` in front, in UTC; 24:00 is the end of a day. Throws
 * PlacementError `invalid_setting`.
 */
export function parseMaintenanceWindow(text: string): MaintenanceWindow {
  const match = PATTERN.exec(text.trim().toLowerCase());
  if (match === null)
    return refuse(text, "must be such as `22:00-04:00`, `Sat 00:00-24:00` or `Mon-Fri 22:00-04:00`");
  const [, first, last, ...times] = match;
  const [fromHour = 0, fromMinutes = 0, toHour = 0, toMinutes = 0] = times.map(Number);
  const fromMinute = fromHour * 60 + fromMinutes;
  const toMinute = toHour * 60 + toMinutes;
  if (fromMinutes > 59 || toMinutes > 59 || fromMinute >= DAY_MINUTES || toMinute > DAY_MINUTES)
    return refuse(text, "must have times from 00:00 to 24:00");
  return { days: daysOf(text, first, last), fromMinute, toMinute };
}

/** Whether a window is open; true if there are none. */
export function isOpen(windows: readonly MaintenanceWindow[], nowMs: number): boolean {
  if (windows.length === 0) return true;
  const now = new Date(nowMs);
  const today = now.getUTCDay();
  const minute = now.getUTCHours() * 60 + now.getUTCMinutes();
  return windows.some(({ days, fromMinute, toMinute }) => {
    const length = toMinute > fromMinute ? toMinute - fromMinute : toMinute - fromMinute + DAY_MINUTES;
    const sinceToday = minute - fromMinute;
    if (days[today] === true && sinceToday >= 0 && sinceToday < length) return true;
    return days[(today + 6) % 7] === true && sinceToday + DAY_MINUTES < length;
  });
}

function daysOf(text: string, first: string | undefined, last: string | undefined): boolean[] {
  if (first === undefined) return DAYS.map(() => true);
  const from = DAYS.indexOf(first);
  const to = last === undefined ? from : DAYS.indexOf(last);
  if (from < 0 || to < 0) return refuse(text, `must name days of ${DAYS.join(", ")}`);
  const count = ((to - from + 7) % 7) + 1;
  return DAYS.map((_, day) => (day - from + 7) % 7 < count);
}

function refuse(text: string, rule: string): never {
  throw new PlacementError("invalid_setting", `a maintenance window ${rule}, got ${text}`);
}
