/** Sends a file with its progress, which `fetch` does not tell. */
import { address, ApiError, bearer, problem } from '../api/client';
import type { Upload } from '../api/types';
import { connection } from '../stores/connection.svelte';

/** How the ids of pictures begin that come with a workflow. */
const SAMPLE = 'sample:';

/** The name of a picture that comes with a workflow; null for an uploaded one. */
export const sampleName = (id: string): string | null => (id.startsWith(SAMPLE) ? id.slice(SAMPLE.length) : null);

/** Whether a kind of content is among those that a field takes: `image/*`, or several, with commas between; empty for any. */
export function fits(accept: string, kind: string): boolean {
  const taken = accept.split(',').map((one) => one.trim()).filter(Boolean);
  return !taken.length || taken.some((one) => one === kind || (one.endsWith('/*') && kind.startsWith(one.slice(0, -1))));
}

/** A file that is being sent. */
export interface Sending {
  done: Promise<Upload>;
  stop: () => void;
}

/**
 * Send a file to the server's uploads.
 *
 * @param file The file.
 * @param onProgress Takes the share that was sent, from 0 to 1.
 */
export function sendUpload(file: File, onProgress: (share: number) => void): Sending {
  let request: XMLHttpRequest | null = null;
  let stopped = false;
  const once = (): Promise<XMLHttpRequest> =>
    new Promise((resolve, reject) => {
      if (stopped) return reject(new ApiError('The upload was stopped.', 'Stopped', true, 0));
      const sent = new XMLHttpRequest();
      request = sent;
      sent.open('POST', address('/uploads'));
      if (connection.token) sent.setRequestHeader('Authorization', bearer(connection.token));
      sent.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
      sent.onload = () => resolve(sent);
      sent.onabort = () => reject(new ApiError('The upload was stopped.', 'Stopped', true, 0));
      sent.onerror = () => {
        connection.lost();
        reject(new ApiError('The server cannot be reached.', 'Unreachable', true, 0));
      };
      const form = new FormData();
      form.append('file', file);
      sent.send(form);
    });
  const whole = async (): Promise<Upload> => {
    for (;;) {
      const used = connection.token;
      const reply = await once();
      if (reply.status === 401) {
        await connection.askForToken(used);
        continue;
      }
      if (reply.status >= 200 && reply.status < 300) return JSON.parse(reply.responseText) as Upload;
      throw problem(reply.responseText, reply);
    }
  };
  return {
    done: whole(),
    stop: () => {
      stopped = true;
      request?.abort();
    },
  };
}
