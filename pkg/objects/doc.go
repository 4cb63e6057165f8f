// Package objects moves files between this machine, Amazon S3 and HTTPS: whole and
// verified, or not at all.
//
// A place is s3://bucket/key (one object), s3://bucket/prefix/ (what is below it),
// https://…, or an absolute path. What is fetched is written under a temporary name in its
// own directory and renamed when it is whole and its checksum is right. What is there
// already with the same content stays as it is.
//
// A large object travels in ranges of Store.PartSize, several at once, each only of the
// version that was seen first (If-Match). A range whose connection breaks, or brings no
// byte for Store.Stall, goes on where it was. Store.Connections bounds what goes on at once,
// over all transfers of a Store together, and with it the memory: 256 KiB for each
// connection beside the HTTP client's own 128 KiB, and some 300 bytes for each object of a
// prefix.
//
// # Checksums
//
// An upload carries its CRC64NVME over the whole object, also in parts, and S3 refuses bytes
// that do not fit it. A download is held against the first of: the SHA-256 that the document
// pins; the object's checksum over all of it; its checksums over its parts, where
// s3:GetObjectAttributes may be called; an ETag that is an MD5. Of what has none of them
// only the size is known, and Moved.Unverified counts it.
//
// # Trees
//
// A tree is files at their hashes and a list of them, a manifest, at its own:
//
//	PLACE/<sha256>          the content of a file
//	PLACE/<sha256>.tree     the manifest
//
// The manifest is text, in one form only, so that equal trees have one:
//
//	batchctl tree 1
//	<sha256> <size> <x or -> "<path>"
//	end
//
// with a line for each file, in the order of the paths' bytes; x marks a program. Sizes are
// in bytes. The path is relative, has no "." or ".." and is quoted as in Go, so that every
// name that a file can have stands on one line. Directories without a file in them do not
// travel, here and to S3.
package objects
