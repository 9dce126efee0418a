/** What must not be kept or shown: values whose names say that they are secrets. */

/** Names of secrets, as the server has them in `engine/nodes/redact.py`. */
export const SECRET = /((api|access|private)[_-]?key|secret|token(?!i[sz](e|ing|ation))|password|passwd|authorization|credential|cookie)/i;

/** Whether a key within a value names a secret. */
export function namesSecret(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, item]) => SECRET.test(key) || namesSecret(item));
}
