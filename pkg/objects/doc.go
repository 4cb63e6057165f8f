// Package objects copies files between local paths, Amazon S3 and HTTPS URLs: complete and verified,
// or not at all.
//
// A location is s3://bucket/key (one object), s3://bucket/prefix/ (everything below it), https://…,
// or an absolute path. A download is written under a temporary name in its directory, and renamed
// when it is complete and its checksum is right. An existing file with the same content stays
// unchanged. A process that is killed (SIGKILL) leaves its temporary files, .batchctl-*.part, which
// nothing reads.
//
// A large object is transferred in ranges of Store.PartSize, several concurrently, all of the
// version that was seen first (If-Match). A range whose connection breaks, or transfers no byte for
// Store.Stall, continues where it stopped. Store.Connections limits the concurrent requests of all
// transfers of a Store, and so the memory: 256 KiB per connection besides the HTTP client's own 128
// KiB, and some 300 bytes per object of a prefix.
//
// # Checksums
//
// An upload has its CRC64NVME over the whole object, also in parts, and S3 rejects bytes that do
// not match it. A download is compared with the first of these: the SHA-256 that the document pins;
// the object's checksum over all of it; its checksums over its parts, if s3:GetObjectAttributes is
// allowed; an ETag that is an MD5. Without any of them, only the size is checked, and Moved.Unverified
// counts the file.
//
// # Trees
//
// A tree consists of files stored under their hashes, and a list of them, a manifest, under its own
// hash:
//
//	PLACE/<sha256>          the content of a file
//	PLACE/<sha256>.tree     the manifest
//
// The manifest is text in a unique form, so that equal trees have the same manifest:
//
//	batchctl tree 1
//	<sha256> <size> <x or -> "<path>"
//	end
//
// with a line for each file, in the order of the paths' bytes; x marks a program. Sizes are in
// bytes. The path is relative, has no "." or ".." and is quoted as in Go, so that every file name
// fits on one line. Directories without files are not transferred, here and to S3.
package objects
