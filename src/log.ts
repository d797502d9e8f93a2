/** What a server tells its operator, on stderr: a line an event, as text or as JSON. */

/** A field of an event. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** Takes events. */
export interface Log {
  (event: string, fields?: LogFields): void;
}

/** Makes a log that writes lines. */
export function openLog(format: "text" | "json", write: (line: string) => void): Log {
  return (event, fields = {}) => {
    const time = new Date().toISOString();
    if (format === "json") return write(JSON.stringify({ time, event, ...fields }));
    const shown = Object.entries(fields).map(([name, value]) =>
      ` ${name}=${JSON.stringify(value)}`
    );
    write(`${time} ${event}${shown.join("")}`);
  };
}
